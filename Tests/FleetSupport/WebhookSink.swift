package import EventLoop
import Events
package import HTTPServer
import JSON
import Telemetry

/// A receiver of the webhook, whose answers a test decides. It keeps what it has got.
@EventLoop
package final class WebhookSink {
  package struct Delivery: Sendable {
    package let id: String
    package let timestamp: String
    package let signature: String
    package let body: [UInt8]

    /// `type id-or-token` of each event.
    package var events: [String] {
      let events = (try? JSONValue(parsing: body))?["data"]?["events"]?.array ?? []
      return events.map { event in
        let data = event["data"]
        return "\(event["type"]?.string ?? "") \((data?["id"] ?? data?["token"])?.string ?? "")"
      }
    }
  }

  /// Called with the number of requests before; nil never answers.
  package var answer: @EventLoop (Int) -> HTTPResponse? = { _ in HTTPResponse(status: 204) }
  /// Every request, in its order.
  package private(set) var deliveries: [Delivery] = []
  /// The events of requests that were answered with 2xx.
  package private(set) var accepted: [String] = []
  private var server: HTTPServer?

  package nonisolated init() {}

  package static func started() throws -> WebhookSink {
    let sink = WebhookSink()
    try sink.start()
    return sink
  }

  package var url: String { "http://127.0.0.1:\(server?.port ?? 0)/hooks" }

  package func start() throws {
    let server = HTTPServer(
      configuration: HTTPServerConfiguration(address: try HTTPAddress(parsing: "127.0.0.1:0")), log: .silent
    ) { [weak self] request, respond in
      guard let self, let response = self.take(request) else { return }
      respond(response)
    }
    try server.start()
    self.server = server
  }

  private func take(_ request: HTTPRequest) -> HTTPResponse? {
    let delivery = Delivery(
      id: request.headers["webhook-id"] ?? "", timestamp: request.headers["webhook-timestamp"] ?? "",
      signature: request.headers["webhook-signature"] ?? "", body: request.body)
    deliveries.append(delivery)
    let response = answer(deliveries.count - 1)
    if let response, (200..<300).contains(response.status) { accepted += delivery.events }
    return response
  }
}

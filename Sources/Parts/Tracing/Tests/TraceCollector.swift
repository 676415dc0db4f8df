import EventLoop
import HTTPServer
import JSON
import Telemetry

/// A collector of spans on the loopback interface.
@EventLoop
final class TraceCollector {
  /// How it answers.
  enum Mode {
    case accepts
    case status(Int)
    /// Never.
    case stalls
  }

  struct Request {
    let path: String
    let headers: HTTPHeaders
    let body: JSONValue
  }

  private(set) var requests: [Request] = []
  var mode: Mode
  private var server: HTTPServer?
  /// Requests that wait for an answer.
  private var unanswered: [@EventLoop (HTTPResponse) -> Void] = []

  init(_ mode: Mode = .accepts) throws {
    self.mode = mode
    var configuration = HTTPServerConfiguration(address: .loopback(port: 0))
    configuration.maximumBodyBytes = 8 << 20
    let server = HTTPServer(configuration: configuration, log: .silent) { [unowned self] in take($0, $1) }
    try server.start()
    self.server = server
  }

  var endpoint: String { "http://127.0.0.1:\(server?.port ?? 0)" }

  /// Of all requests, in their order.
  var spans: [JSONValue] {
    requests.flatMap { request in
      (request.body["resourceSpans"]?.array ?? []).flatMap { $0["scopeSpans"]?.array ?? [] }
        .flatMap { $0["spans"]?.array ?? [] }
    }
  }

  private func take(_ request: HTTPRequest, _ reply: @escaping @EventLoop (HTTPResponse) -> Void) {
    let body: JSONValue
    do {
      body = try JSONValue(parsing: request.body)
    } catch {
      return reply(.text("not JSON", status: 400))
    }
    requests.append(Request(path: request.path, headers: request.headers, body: body))
    switch mode {
    case .accepts: reply(.json(Array("{}".utf8)))
    case .status(let status): reply(.json(Array("{}".utf8), status: status))
    case .stalls: unanswered.append(reply)
    }
  }
}

extension JSONValue {
  /// The attributes of a span or a resource, as text.
  var attributes: [String: String] {
    var found: [String: String] = [:]
    for attribute in self["attributes"]?.array ?? [] {
      let value = attribute["value"]
      found[attribute["key"]?.string ?? ""] = value?["stringValue"]?.string ?? value?["intValue"]?.string
    }
    return found
  }
}

import Dispatch

/// Sends requests to other programs' servers, by libcurl.
///
/// Requests of one client are sent one after the other, on a separate queue, because they block. Connections stay open
/// for the next request. Redirects are not followed. Proxies are those of the environment (`https_proxy`, `NO_PROXY`).
public final class HTTPClient: Sendable {
  private let queue: DispatchQueue
  private let transfer: Transfer

  /// - Parameters:
  ///   - label: of the queue.
  ///   - authorities: are trusted in addition to the system's.
  public init(label: String, authorities: TrustedCertificates? = nil) {
    queue = DispatchQueue(label: label, qos: .utility)
    transfer = Transfer(authorities: authorities)
  }

  /// Sends the request and returns its answer, for any status.
  public func send(
    _ call: HTTPCall, isolation: isolated (any Actor)? = #isolation
  ) async throws(HTTPClientError) -> HTTPAnswer {
    let result = await withCheckedContinuation { continuation in
      queue.async { [transfer] in
        continuation.resume(returning: Result { () throws(HTTPClientError) in try transfer.run(call) })
      }
    }
    return try result.get()
  }
}

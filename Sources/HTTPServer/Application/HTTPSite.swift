public import EventLoop

/// What an ``HTTPApplication`` serves.
@EventLoop
public protocol HTTPSite {
  /// What answers the requests for a route.
  associatedtype Endpoint
  associatedtype Refusal: HTTPRefusal = Never

  var router: HTTPRouter<Endpoint> { get }

  /// Returns a file that never changes. Requests for files are not counted.
  func file(at path: String) -> HTTPResponse?

  /// Whether the answer to a request depends on its body. If not, ``respond(to:)`` gets the request without its body, before
  /// that has arrived: a stranger's bytes are not kept.
  func needsBody(_ request: RoutedRequest<Endpoint>) -> Bool

  /// The limit of the request's body if it is larger than the server's, else nil. Larger bodies are answered 413. Bytes.
  func maximumBodyBytes(of request: RoutedRequest<Endpoint>) -> Int?

  /// Carries out a request, also one for a path that is not a route.
  func respond(to request: RoutedRequest<Endpoint>) async throws(Refusal) -> HTTPResponse

  func response(to refusal: Refusal, of request: RoutedRequest<Endpoint>) -> HTTPResponse

  /// Returns the answer to a request that the server did not read completely. `status`: 400, 413 or 431.
  func response(toUnread status: Int, of request: RoutedRequest<Endpoint>) -> HTTPResponse
}

extension HTTPSite {
  public func file(at path: String) -> HTTPResponse? { nil }

  public func needsBody(_ request: RoutedRequest<Endpoint>) -> Bool { false }

  public func maximumBodyBytes(of request: RoutedRequest<Endpoint>) -> Int? { nil }

  public func response(toUnread status: Int, of request: RoutedRequest<Endpoint>) -> HTTPResponse {
    HTTPServerConfiguration.refusal(status)
  }
}

extension HTTPSite where Refusal == Never {
  public func response(to refusal: Never, of request: RoutedRequest<Endpoint>) -> HTTPResponse {}
}

/// Why a request was not carried out.
public protocol HTTPRefusal: Error {
  /// The fault that caused the refusal; nil if the request did.
  var fault: HTTPFault? { get }
}

extension Never: HTTPRefusal {
  public var fault: HTTPFault? { nil }
}

/// A fault that is not the client's.
public struct HTTPFault: Sendable {
  let reason: String
  /// Whether it is in the log already.
  let isKnown: Bool

  public init(_ reason: String, isKnown: Bool) {
    self.reason = reason
    self.isKnown = isKnown
  }
}

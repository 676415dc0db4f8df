package import EventLoop
package import HTTPServer

/// The endpoints of one document in docs/http.
@EventLoop
package protocol HTTPAPI {
  /// The paths that the API answers, for any method. The last part may be a parameter: `/devices/{deviceToken}`.
  var routes: [String] { get }

  /// Prefixes of further paths that belong to the API, which answers them with 404. Each ends with `/`.
  var roots: [String] { get }

  /// Whether the answer to a request for one of ``routes`` depends on its body. If not, ``respond(to:)`` gets the request without
  /// its body, before that has arrived: a stranger's bytes are not kept.
  func needsBody(_ request: SidecarRequest) -> Bool

  /// The limit of the bodies of ``routes``, at least the usual one; larger ones are answered 413.
  var maximumBodyBytes: Int { get }

  /// Carries out a request for one of ``routes``.
  func respond(to request: SidecarRequest) async throws(Refusal) -> HTTPResponse

  /// Reads the files of the API again, on SIGHUP. Nil if it has none.
  var reload: (@EventLoop () -> Void)? { get }

  /// Renders a refusal in the form of the API's document. The request may be one that never reached ``respond(to:)``.
  func response(to refusal: Refusal, of request: HTTPRequest) -> HTTPResponse
}

extension HTTPAPI {
  package var roots: [String] { [] }
  package var maximumBodyBytes: Int { HTTPServerConfiguration.usualBodyBytes }
  package var reload: (@EventLoop () -> Void)? { nil }

  package func needsBody(_ request: SidecarRequest) -> Bool { false }
}

/// A request for a route of an API.
package typealias SidecarRequest = RoutedRequest<any HTTPAPI>

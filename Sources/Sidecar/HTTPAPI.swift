import EventLoop
import HTTPServer

/// The endpoints of one document.
@EventLoop
protocol HTTPAPI {
  /// The paths it answers, whatever the method. The last part may be a parameter: `/devices/{deviceToken}`.
  var routes: [String] { get }

  /// Beginnings of the other paths that are its own, to answer that they are not there. Each ends with `/`.
  var roots: [String] { get }

  func respond(to request: SidecarRequest) async -> HTTPResponse

  /// The answer to a request whose body is too large (413), whose header fields are too many or too large (431), or that is malformed (400).
  func refusal(_ status: Int, of request: HTTPRequest) -> HTTPResponse

  /// The answer to a path below its ``roots`` that is none of its routes.
  var notFound: HTTPResponse { get }
}

extension HTTPAPI {
  var roots: [String] { [] }

  var notFound: HTTPResponse { .error("Not found", status: 404) }

  func refusal(_ status: Int, of request: HTTPRequest) -> HTTPResponse {
    .refusal(status)
  }
}

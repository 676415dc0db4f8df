import HTTPServer

/// A request that a surface is to answer.
struct SidecarRequest: Sendable {
  let http: HTTPRequest
  /// The path as the surface names it: `/devices/{deviceToken}`.
  let route: String
  /// What stands in the place of the braces, as sent: percent escapes are not decoded. Never contains `/`.
  let parameter: String?

  var method: String { http.method }
}

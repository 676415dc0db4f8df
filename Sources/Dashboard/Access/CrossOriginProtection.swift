import HTTPServer

/// Refuses requests that a browser sends for another site, by the rule of Go's `net/http.CrossOriginProtection`.
///
/// Methods that change nothing pass. Browsers name the site that caused a request in `Sec-Fetch-Site`; on plain HTTP in a
/// private network they do not, and then the host of `Origin` must be the host that was asked. Without both fields the client
/// is no browser.
struct CrossOriginProtection: Sendable {
  private static let safeMethods: Set<String> = ["GET", "HEAD", "OPTIONS"]

  let trustedProxies: TrustedProxies

  /// Whether the request may be carried out.
  func allows(_ request: HTTPRequest) -> Bool {
    if CrossOriginProtection.safeMethods.contains(request.method) { return true }
    switch request.headers["Sec-Fetch-Site"] ?? "" {
    case "same-origin", "none": return true
    case "": break
    default: return false
    }
    let origin = request.headers["Origin"] ?? ""
    if origin.isEmpty { return true }
    guard let host = CrossOriginProtection.host(ofOrigin: origin), !host.isEmpty else { return false }
    return host == request.headers["Host"] || host == forwardedHost(of: request)
  }

  /// The host that the client of a trusted proxy asked for.
  private func forwardedHost(of request: HTTPRequest) -> String? {
    trustedProxies.areTrusted(in: request) ? request.headers["X-Forwarded-Host"] : nil
  }

  /// Returns the host and the port of `scheme://host:port`; nil for another text, for example `null`.
  private static func host(ofOrigin origin: String) -> String? {
    guard let separator = origin.firstRange(of: "://"), separator.lowerBound > origin.startIndex else { return nil }
    let host = origin[separator.upperBound...]
    return host.contains { "/?#@".contains($0) } ? nil : String(host)
  }
}

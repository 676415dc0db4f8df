import HTTPServer

/// Refuses requests that a browser sends for another site, by the rule of Go's `net/http.CrossOriginProtection`.
///
/// Methods that change nothing pass. Browsers name the site that caused a request in `Sec-Fetch-Site`; on plain HTTP in a
/// private network they do not, and then the host of `Origin` must be the one in `Host`. Without both fields the client
/// is no browser.
///
/// Two things differ from Go. An `Origin` with a path or a user, which no browser sends, is refused. And if a trusted proxy
/// has replaced `Host`, the host may be the first one in `X-Forwarded-Host`: a page of another site cannot set that field
/// without asking first, which is always refused. It is read only where Go compares `Host`.
struct CrossOriginProtection: Sendable {
  private static let safeMethods: Set<String> = ["GET", "HEAD", "OPTIONS"]

  let trustedProxies: TrustedProxies

  /// Whether the request may be carried out.
  func allows(_ request: HTTPRequest) -> Bool {
    if CrossOriginProtection.safeMethods.contains(request.method) { return true }
    switch request.headers["sec-fetch-site"] ?? "" {
    case "same-origin", "none": return true
    case "": break
    default: return false
    }
    let origin = request.headers["origin"] ?? ""
    if origin.isEmpty { return true }
    guard let host = CrossOriginProtection.host(ofOrigin: origin), !host.isEmpty else { return false }
    if host == request.headers["host"] { return true }
    return trustedProxies.areTrusted(in: request) && host == request.headers.firstEntry(of: "x-forwarded-host")
  }

  /// Returns the host and the port of `scheme://host:port`; nil for another text, for example `null`.
  static func host(ofOrigin origin: String) -> String? {
    guard let separator = origin.firstRange(of: "://"), separator.lowerBound > origin.startIndex else { return nil }
    let host = origin[separator.upperBound...]
    return host.contains { "/?#@".contains($0) } ? nil : String(host)
  }
}

extension HTTPHeaders {
  /// The first entry of a list that each proxy of a chain appends to: what the one next to the client wrote.
  func firstEntry(of name: String) -> String? {
    guard let entry = self[name]?.split(separator: ",", omittingEmptySubsequences: false).first else { return nil }
    let start = entry.drop { $0 == " " || $0 == "\t" }
    return String(start.prefix { $0 != " " && $0 != "\t" })
  }
}

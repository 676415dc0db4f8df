/// Which pages may call the push, notification and broadcast APIs from a browser. See docs/http/push-api.md.
public struct OriginPolicy: Sendable, Equatable {
  public enum Environment: String, Sendable, CaseIterable {
    case production, preview, development
  }

  public var environment = Environment.development
  /// Allowed in production: `https://host[:port]`.
  public var allowedOrigins: [String] = []
  /// Allowed in preview: hosts under `.vercel.app` that begin with one of these.
  public var previewHostPrefixes: [String] = []
  /// Allowed everywhere: hosts below one of these domains; in production over https only.
  public var trustedHostSuffixes: [String] = []

  public init() {}
}

extension OriginPolicy {
  private static let loopbackHosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"]
  private static let loopbackPorts: Set<UInt16> = [80, 443, 3000, 5173]
  private static let previewDomain = ".vercel.app"

  /// Whether `text` is an origin: a scheme, a host, perhaps a port, and nothing else.
  public static func isOrigin(_ text: String) -> Bool { WebOrigin(parsing: text) != nil }

  /// Whether pages of `origin`, the value of an Origin header, may call.
  func allows(_ origin: String) -> Bool {
    guard let parsed = WebOrigin(parsing: origin) else { return false }
    if isTrusted(parsed.host), environment != .production || parsed.scheme == "https" { return true }
    switch environment {
    case .production:
      return allowedOrigins.contains { WebOrigin(parsing: $0)?.text == origin }
    case .preview:
      return parsed.host.hasSuffix(OriginPolicy.previewDomain)
        && previewHostPrefixes.contains { !$0.isEmpty && parsed.host.hasPrefix($0.lowercased()) }
    case .development:
      return OriginPolicy.loopbackHosts.contains(parsed.host)
        && OriginPolicy.loopbackPorts.contains(parsed.effectivePort)
    }
  }

  /// `*.example.net`, `.example.net` and `example.net` all mean every host below example.net, not example.net itself.
  private func isTrusted(_ host: String) -> Bool {
    trustedHostSuffixes.contains { suffix in
      let domain = suffix.drop { $0 == "*" || $0 == "." }.lowercased()
      return !domain.isEmpty && host.hasSuffix("." + domain)
    }
  }
}

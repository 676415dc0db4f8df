extension OriginPolicy {
  private static let loopbackHosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"]
  private static let loopbackPorts: Set<UInt16> = [80, 443, 3000, 5173]
  private static let previewDomain = ".vercel.app"

  /// Whether `text` can be listed in ``allowedOrigins``: scheme, host, perhaps a port, nothing else.
  public static func isOrigin(_ text: String) -> Bool { WebOrigin(parsing: text) != nil }

  /// Whether pages of this origin may call; `origin` is the text of an Origin header.
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

  /// `*.example.net`, `.example.net` and `example.net` mean the same: every host below it, not itself.
  private func isTrusted(_ host: String) -> Bool {
    trustedHostSuffixes.contains { suffix in
      let domain = suffix.drop { $0 == "*" || $0 == "." }.lowercased()
      return !domain.isEmpty && host.hasSuffix("." + domain)
    }
  }
}

/// Which browsers' pages may call the push API and the push server: docs/http/push-api.md.
public struct OriginPolicy: Sendable, Equatable {
  public enum Environment: String, Sendable, CaseIterable {
    case production, preview, development
  }

  public var environment = Environment.development
  /// Of production, as `https://host[:port]`.
  public var allowedOrigins: [String] = []
  /// Of preview: hosts under `.vercel.app` that begin with one of these.
  public var previewHostPrefixes: [String] = []
  /// Everywhere: hosts that end with one of these; in production over https alone.
  public var trustedHostSuffixes: [String] = []

  public init() {}
}

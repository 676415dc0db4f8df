/// What can be wrong before a push is under way. Refusals by APNs are values: ``APNsAnswer``.
public enum APNsError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A setting that cannot work; names the setting and what is expected.
  case configuration(String)
  /// The connection could not be opened or broke.
  case connection(String)
  /// The provider token could not be signed.
  case signing(String)

  public var description: String {
    switch self {
    case .configuration(let text), .connection(let text), .signing(let text): text
    }
  }
}

/// Why a push could not be sent. A refusal by APNs is not an error but an ``APNsAnswer``.
public enum APNsError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A setting is invalid. The text names the setting and what is expected.
  case configuration(String)
  /// The connection could not be opened or was lost.
  case connection(String)
  /// The provider token could not be signed.
  case signing(String)

  public var description: String {
    switch self {
    case .configuration(let text), .connection(let text), .signing(let text): text
    }
  }
}

import Crypto
public import PushModel

/// A credential for the HTTP APIs or the dashboard. The secret itself is not stored.
public struct Credential: Sendable, Equatable {
  public enum Kind: String, Sendable, CaseIterable {
    /// A bearer token that goes with a username.
    case user
    /// An API key of an app.
    case key
    /// A device key that goes with an instance.
    case instance
    /// The secret with which an operator signs in to the dashboard.
    case `operator`

    /// The kinds that the HTTP APIs check.
    public static let ofAPIs: [Kind] = [.user, .key, .instance]
  }

  public let kind: Kind
  /// A normalised username, the name of an API key or of an operator, or the id of an instance.
  public let name: String
  /// Which of the user's secrets this is. Other kinds have one secret, ``defaultLabel``.
  public let label: String
  /// SHA-256 of the secret, 64 hexadecimal digits.
  public let digest: String
  /// Unix milliseconds.
  public let createdAt: Int64
  public var isEnabled: Bool
  /// What an API key may be used for. Not used by other kinds.
  public let scopes: Set<KeyScope>
  /// How many requests an API key may send. Not used by other kinds.
  public let quota: KeyQuota
  /// The apps that a user or an API key is for. Not used by other kinds.
  public let apps: AppBinding
  /// What an operator may do. Not used by other kinds.
  public let role: OperatorRole

  public init(
    kind: Kind, name: String, label: String = Credential.defaultLabel, digest: String, createdAt: Int64,
    isEnabled: Bool = true, scopes: Set<KeyScope> = Set(KeyScope.allCases), quota: KeyQuota = .standard,
    apps: AppBinding = .everyApp, role: OperatorRole = .viewer
  ) {
    self.kind = kind
    self.name = name
    self.label = label
    self.digest = digest
    self.createdAt = createdAt
    self.isEnabled = isEnabled
    self.scopes = scopes
    self.quota = quota
    self.apps = apps
    self.role = role
  }

  /// Returns the SHA-256 of `secret`, 64 hexadecimal digits.
  public static func digest(of secret: String) -> String { SHA256.hex(secret) }
}

extension Credential {
  /// The length of a name in bytes.
  private static let nameLength = 1...128

  /// Returns the name as Redis holds it: of a user the one form of ``Username``. Returns nil if the name is not allowed.
  public static func normalized(_ name: String, of kind: Kind) -> String? {
    let name = kind == .user ? Username(name).text : name
    guard nameLength.contains(name.utf8.count) else { return nil }
    let isAllowed =
      switch kind {
      case .user: !name.unicodeScalars.contains(where: \.isControl)
      case .key, .operator: name.utf8.allSatisfy(DeviceToken.contains)
      // The key of its record would be the key of another instance's notification records.
      case .instance: name.utf8.allSatisfy(DeviceToken.contains) && !name.hasSuffix(":notifications")
      }
    return isAllowed ? name : nil
  }

  /// Describes what ``normalized(_:of:)`` accepts, for error messages.
  public static func expectedName(of kind: Kind) -> String {
    switch kind {
    case .user: "1 to 128 bytes without control characters"
    case .key, .operator: "1 to 128 letters, digits or any of ._:-"
    case .instance: "1 to 128 letters, digits or any of ._:-, not ending in :notifications"
    }
  }
}

extension Credential {
  /// Secrets of one user, at most.
  public static let maximumSecrets = 100
  /// The label of a secret that was added without one.
  public static let defaultLabel = "default"
  private static let labels = Charset("._:-", length: 1...64)

  public static func isLabel(_ text: String) -> Bool { labels.accepts(text) }

  /// Describes what ``isLabel(_:)`` accepts, for error messages.
  public static let expectedLabel = labels.description

  /// The user whose credential this is. Of other kinds it has no meaning.
  public var username: Username { Username(name) }

  /// The label of a user's secret. Nil for other kinds.
  public var ownLabel: String? { kind == .user ? label : nil }

  /// The secret among those of its kind whose last use is noted. No name contains a line feed.
  public var useKey: String { label == Credential.defaultLabel ? name : "\(name)\n\(label)" }
}

extension Credential {
  /// The length in bytes of a secret that an operator chooses. Shorter ones that are already stored still work.
  private static let secretLength = 16...512

  /// Returns a new secret that cannot be guessed.
  public static func randomSecret() -> String { Secret.random() }

  /// Returns the secret in `bytes`, or nil if its length is invalid or no client could send it in a header field.
  public static func secret(_ bytes: [UInt8]) -> String? {
    guard secretLength.contains(bytes.count), let text = String(validating: bytes, as: UTF8.self) else { return nil }
    // Clients and servers remove white space around the value of a header field.
    guard bytes.first != 0x20, bytes.last != 0x20 else { return nil }
    return text.unicodeScalars.contains(where: \.isControl) ? nil : text
  }

  /// Describes what ``secret(_:)`` accepts, for error messages.
  public static let expectedSecret =
    "\(secretLength.lowerBound) to \(secretLength.upperBound) bytes without control characters or spaces around them"
}

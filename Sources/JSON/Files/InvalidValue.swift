/// An invalid value of a setting or in a file.
public struct InvalidValue: Error, Sendable, Equatable, CustomStringConvertible {
  /// The name of the setting, or the place in the file: `apps[2].keys[0].path`. Empty for the file itself.
  public let place: String
  /// What was found. Never a secret.
  public let seen: String
  public let expected: String

  package init(place: String = "", seen: String, expected: String) {
    self.place = place
    self.seen = seen
    self.expected = expected
  }

  public var description: String { "\(place.isEmpty ? "" : "\(place): ")\(seen); expected \(expected)" }
}

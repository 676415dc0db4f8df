public import JSON

/// What operators are shown of a part of Martlet, beside queues and workers.
public struct PartStatus: Sendable {
  /// Its member of `martlet status --json`.
  public let name: String
  /// The value of that member; nil if there is nothing to show.
  public let object: JSONObject?
  /// Lines of `martlet status`.
  public let text: String
  /// What `martlet doctor` finds.
  public let checked: Finding?
  /// What the overview shows as not being as it should be.
  public let finding: Finding?

  public init(name: String, object: JSONObject?, text: String, checked: Finding?, finding: Finding?) {
    self.name = name
    self.object = object
    self.text = text
    self.checked = checked
    self.finding = finding
  }
}

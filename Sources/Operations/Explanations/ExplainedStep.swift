import JSON

/// A sentence of an explanation, and the time that it is about.
///
/// Sentences are plain text in one line, the same on a terminal and on a page. They may quote what producers wrote, so whoever shows
/// them escapes them.
public struct ExplainedStep: Sendable, Equatable {
  /// What a step is about.
  public enum Kind: String, Sendable, CaseIterable {
    case enqueued, waiting, claimed, crash, devices, policy, answer, refusal, retry, scheduled, control, dead, end, note
  }

  /// Unix ms; nil if it is unknown.
  public var at: Int64?
  public var kind: Kind
  public var sentence: String

  init(at: Int64?, _ kind: Kind, _ sentence: String) {
    self.at = at
    self.kind = kind
    self.sentence = sentence
  }

  var object: JSONObject { ["at": at, "kind": kind.rawValue, "sentence": sentence] }
}

/// What is wrong with the tone of a text.
public struct ToneFault: Sendable, Equatable, CustomStringConvertible {
  /// In the words of the rule: lower case, contractions written out, `…` for what stands in between.
  public let phrase: String
  public let rule: ToneRule

  public var description: String { "tone: \"\(phrase)\" is \(rule.rawValue); say it in neutral, calm words" }
}

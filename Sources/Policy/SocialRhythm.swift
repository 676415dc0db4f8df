/// What an owner may set to make a policy quieter; neutral by default, and static: nothing adapts.
public struct SocialRhythm: Sendable, Equatable {
  /// Low classes are suppressed this long before quiet hours begin.
  public var suppressBeforeQuietMinutes: Int64 = 0
  /// The class that notifications of all low classes are shown as; nil: their own. Their rules stay their own.
  public var lowClass: String?
  /// Makes every collapse window at least this long.
  public var collapseSeconds: Int64 = 0
}

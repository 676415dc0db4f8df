/// What a crash may cost.
public enum DeliveryMode: String, Sendable, CaseIterable {
  /// A claimed job stands in the in-flight list until it is settled; a crash runs it again.
  case atLeastOnce = "at-least-once"
  /// A claimed job is gone from Redis at once: never sent twice, lost with a crash.
  case atMostOnce = "at-most-once"
}

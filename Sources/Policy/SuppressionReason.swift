/// Which rule kept a notification back; the `reason` of its record.
public enum SuppressionReason: String, Sendable, CaseIterable {
  case limit, collapsed, spacing, rhythm
  case quietHours = "quiet_hours"
}

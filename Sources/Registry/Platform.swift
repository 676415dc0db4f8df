/// What a device runs.
public enum Platform: String, Sendable {
  case ios, android
}

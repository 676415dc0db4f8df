/// One of APNs' two environments. A device token belongs to exactly one of them.
public enum PushEnvironment: String, Sendable, CaseIterable {
  case production, sandbox
}

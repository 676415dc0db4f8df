/// What a job brings to a device.
public enum JobContent: Sendable, Equatable {
  /// Indirect: jobs are handed on, and so much would be copied each time.
  indirect case notification(Notification)
  /// The text of a JSON object, sent byte for byte.
  case payload([UInt8])
  /// A notification class of a delivery policy, by its name; only to an instance.
  case classed(String, preview: String?)
}

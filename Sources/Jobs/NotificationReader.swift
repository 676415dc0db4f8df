/// Whom a notification record is kept for, and what tells that somebody can read it: a credential or a device.
public struct NotificationReader: Sendable, Equatable {
  /// Field of the hash ``credentials``.
  package let name: String
  /// Stream of the records.
  let stream: String
  /// Hash of the credentials of its kind.
  let credentials: String
  /// Key that exists while it has a device.
  let device: String

  public init(name: String, stream: String, credentials: String, device: String) {
    self.name = name
    self.stream = stream
    self.credentials = credentials
    self.device = device
  }

  /// As the scripts take them.
  package var keys: [String] { [stream, credentials, device] }
}

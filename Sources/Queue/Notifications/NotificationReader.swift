/// Who can read a notification record by polling. The record is kept only if there is a credential or a device.
public struct NotificationReader: Sendable, Equatable {
  /// The field of the hash ``credentials``.
  package let name: String
  /// The key of the stream of records.
  let stream: String
  /// The key of the hash of credentials.
  let credentials: String
  /// A key that exists while there is a device.
  let device: String

  public init(name: String, stream: String, credentials: String, device: String) {
    self.name = name
    self.stream = stream
    self.credentials = credentials
    self.device = device
  }

  /// In the order of the scripts' KEYS.
  package var keys: [String] { [stream, credentials, device] }
}

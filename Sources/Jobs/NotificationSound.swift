/// The `sound` of a notification.
public enum NotificationSound: Sendable, Equatable {
  case named(String)
  /// `volume` is 0 to 1.
  case critical(isCritical: Bool, name: String, volume: Double?)
}

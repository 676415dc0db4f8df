/// The apps whose devices a credential may change.
public struct AppScope: Sendable, Equatable {
  private let apps: Set<String>
  /// The app of devices that were registered for none.
  private let fallback: String?

  public init(_ apps: some Sequence<String>, else fallback: String?) {
    self.apps = Set(apps)
    self.fallback = fallback
  }

  /// Whether the operation may be carried out on the device. A token that nothing is known of may be registered, but not found.
  func allows(_ operation: DeviceOperation, on stored: StoredDevice) -> Bool {
    let app = stored.metadata.flatMap { $0.bundleID ?? fallback }
    return switch operation {
    case .register, .take: app.map(apps.contains) ?? true
    default: app.map(apps.contains) ?? false
    }
  }
}

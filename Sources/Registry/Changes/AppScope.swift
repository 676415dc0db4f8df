import PushModel

/// The apps whose devices a credential may change.
public struct AppScope: Sendable, Equatable {
  private let apps: Set<ExactText>
  /// The app of devices that were registered for none.
  private let fallback: String?

  public init(_ apps: some Sequence<String>, else fallback: String?) {
    self.apps = Set(apps.map { ExactText($0) })
    self.fallback = fallback
  }

  /// Whether the operation may be carried out on the device. One without a known app may be registered, but not removed.
  func allows(_ operation: DeviceOperation, on stored: StoredDevice) -> Bool {
    let isOfApps = stored.metadata.flatMap { $0.bundleID ?? fallback }.map { apps.contains(ExactText($0)) }
    return switch operation {
    case .register, .take, .renew: isOfApps ?? true
    default: isOfApps ?? false
    }
  }
}

import PushModel

/// The devices of a user that share one limit: when one is added beyond it, the oldest is removed. A phone has one token for each kind.
package struct DeviceLimitGroup: Hashable, Sendable {
  /// Empty for devices without an app.
  let app: String
  let kind: DeviceKind

  /// `metadata` is nil for an entry that has none.
  package init(_ metadata: DeviceMetadata?) {
    app = metadata?.bundleID ?? ""
    kind = metadata?.kind ?? .app
  }
}

import PushModel

/// The devices of a user among which one more makes the oldest leave: a phone has one token for each kind.
package struct DeviceCrowd: Hashable, Sendable {
  /// Empty for devices without an app.
  let app: String
  let kind: DeviceKind

  /// `metadata` is nil for an entry that has none.
  package init(_ metadata: DeviceMetadata?) {
    app = metadata?.bundleID ?? ""
    kind = metadata?.kind ?? .app
  }
}

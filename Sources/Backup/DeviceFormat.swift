/// The file in which another sender or a database lists devices.
package struct DeviceFormat: Sendable {
  /// As `martlet tokens import --from` names it.
  package let name: String
  /// Reads such a file. Devices of which it names no app are of `app`.
  package let source: @Sendable (_ app: String?) -> any BackupSource

  package init(_ name: String, _ source: @escaping @Sendable (_ app: String?) -> any BackupSource) {
    self.name = name
    self.source = source
  }
}

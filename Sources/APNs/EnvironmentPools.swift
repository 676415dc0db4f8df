import PushModel

/// The pools of the gateways in use. No dictionary: every push looks its pool up.
struct EnvironmentPools {
  private var production: ConnectionPool?
  private var sandbox: ConnectionPool?

  subscript(environment: PushEnvironment) -> ConnectionPool? {
    get { environment == .production ? production : sandbox }
    set { if environment == .production { production = newValue } else { sandbox = newValue } }
  }

  var all: [ConnectionPool] { [production, sandbox].compactMap { $0 } }
}

import EventLoop
import HTTPServer
import JSON
import Telemetry

/// The gateway and its control port, from the command line.
@EventLoop
final class Service {
  let gateway: Gateway
  let control: ControlPort
  private let arguments: Arguments
  private let workspace: Workspace
  /// Nil if the key came from the command line.
  private let keyPath: String?
  private var port = 0
  private var channelsPort = 0

  init(_ arguments: Arguments, log: Log) throws(CredentialError) {
    self.arguments = arguments
    workspace = try Workspace(directory: arguments.directory)
    let tls = try workspace.makeTLS(names: arguments.names)
    let key: PublicKey
    if let path = arguments.publicKeyPath {
      key = try PublicKey(path: path)
      keyPath = nil
    } else {
      key = try workspace.makeProviderKey()
      keyPath = workspace.keyPath
    }
    let verifier = ProviderTokenVerifier(
      keyID: arguments.keyID ?? Workspace.keyID, teamID: arguments.teamID ?? Workspace.teamID, key: key)
    gateway = Gateway(
      tls: tls, verifier: verifier, settings: GatewaySettings(arguments),
      ledger: Ledger(keepsIDs: arguments.keepsIDs), log: log)
    gateway.journal = try arguments.journalPath.map { path throws(CredentialError) in try Journal(path: path) }
    if !arguments.topics.isEmpty { gateway.rules.topics = Set(arguments.topics) }
    control = ControlPort(gateway: gateway, address: arguments.control, log: log)
  }

  func start() throws {
    DescriptorLimit.raise()
    port = try gateway.start(arguments.listen, .pushes)
    channelsPort = try gateway.start(arguments.channels, .channels)
    try control.start()
    try workspace.writeEnvironment(
      url: url, keyID: gateway.verifier.keyID, teamID: gateway.verifier.teamID, keyPath: keyPath)
  }

  /// The line that is printed when the gateway is ready, without a line end. There is no `keyPath` if the key came from the
  /// command line.
  func readyLine() -> [UInt8] {
    let object: JSONObject = [
      "ready": true, "port": port, "url": url,
      "channels": "https://\(Service.place(arguments.channels, port: channelsPort))",
      "control": "http://\(Service.place(arguments.control, port: control.port))", "dir": workspace.directory,
      "caCertificate": workspace.authorityPath, "keyPath": keyPath, "keyId": gateway.verifier.keyID,
      "teamId": gateway.verifier.teamID,
    ]
    return object.bytes
  }

  /// Removes the directory unless the command line named it.
  func removeFiles() {
    if arguments.directory == nil { workspace.remove() }
  }

  private var url: String { "https://\(Service.place(arguments.listen, port: port))" }

  private static func place(_ address: HTTPAddress, port: Int) -> String {
    guard case .tcp(let host, _) = address else { return "\(address)" }
    return "\(HTTPAddress.tcp(host: host.isEmpty ? "localhost" : host, port: port))"
  }
}

extension GatewaySettings {
  init(_ arguments: Arguments) {
    environment = arguments.environment
    maximumStreams = arguments.maximumStreams
    initialStreams = arguments.initialStreams ?? (arguments.checksAuthorization ? 1 : arguments.maximumStreams)
    addedNanoseconds = UInt64(arguments.addedMilliseconds) * 1_000_000
    checksAuthorization = arguments.checksAuthorization
    isLikeApple = arguments.isLikeApple
    // "More than once every 20 minutes" is too often.
    tokenUpdateSeconds = Int64(arguments.tokenUpdateSeconds > 0 || !isLikeApple ? arguments.tokenUpdateSeconds : 1200)
  }
}

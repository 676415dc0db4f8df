import APNs
import Dispatch
import EventLoop
import HTTPClient
import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// Measures the APNs client without Redis and jobs.
@main
enum Bench {
  static func main() {
    do {
      let arguments = try Arguments(parsing: Array(CommandLine.arguments.dropFirst()))
      let configuration = try APNsConfiguration(
        keys: [
          .init(
            keyID: arguments.keyID, teamID: arguments.teamID, privateKeyPEM: try text(of: arguments.keyPath))
        ],
        gateway: .init(
          endpointOverride: arguments.url,
          authorities: try TrustedCertificates(pem: text(of: arguments.authorityPath))),
        connectionsPerEnvironment: arguments.connections)
      EventLoop.run { begin(arguments, configuration) }
      dispatchMain()
    } catch {
      complain("\(error)\n\(Arguments.usage)")
      exit(2)
    }
  }

  /// Starts the measurement when a connection is ready, so that only sending is measured.
  @EventLoop
  private static func begin(_ arguments: Arguments, _ configuration: APNsConfiguration) {
    let client = APNsClient(configuration: configuration, metrics: Metrics(), log: Log(level: .warn))
    client.onStateChange = {
      guard client.isConnected else { return }
      client.onStateChange = nil
      measure(client, arguments)
    }
    client.start()
  }

  @EventLoop
  private static func measure(_ client: APNsClient, _ arguments: Arguments) {
    let (started, usedBefore) = (Clock.monotonicNanoseconds, CPUTime.seconds)
    var flood: PushFlood?
    flood = PushFlood(client: client, arguments: arguments) {
      guard let flood else { return }
      let seconds = Double(Clock.monotonicNanoseconds - started) / 1e9
      report(flood, arguments, seconds: seconds, cpuSeconds: CPUTime.seconds - usedBefore)
    }
    flood?.start()
  }

  @EventLoop
  private static func report(_ flood: PushFlood, _ arguments: Arguments, seconds: Double, cpuSeconds: Double) {
    print(
      """
      {"pushes":\(arguments.pushes),"accepted":\(flood.accepted),"refused":\(flood.refused),\
      "unanswered":\(flood.unanswered),"seconds":\(seconds),"cpuSeconds":\(cpuSeconds)}
      """)
    if let fault = flood.firstFault { complain("not every push was accepted: \(fault)\n") }
    Log.flush()
    exit(flood.accepted == arguments.pushes ? 0 : 1)
  }

  private static func complain(_ message: String) {
    let bytes = Array("martlet-bench: \(message)".utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
  }

  private static func text(of path: String) throws(UsageError) -> String {
    guard let file = fopen(path, "r") else { throw UsageError("cannot read \(path)") }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}

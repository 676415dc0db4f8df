import Dispatch
import EventLoop
import HTTPServer
import Telemetry
import Usage

#if canImport(Glibc)
  import Glibc
#endif

/// `apns-simulator`: starts as the command line requests, prints that it is ready, and ends on a signal.
@main
enum Simulator {
  static func main() {
    signal(SIGPIPE, SIG_IGN)
    do {
      let words = Array(CommandLine.arguments.dropFirst())
      if words.contains("--help") || words.contains("-h") {
        write(Arguments.usage.help, to: STDOUT_FILENO)
        exit(0)
      }
      let arguments = try Arguments(parsing: words)
      Signals.listen(to: [SIGTERM, SIGINT]) { _ in
        running?.removeFiles()
        Log.flush()
        _exit(0)
      }
      EventLoop.queue.sync { EventLoop.assumeIsolated { run(arguments) } }
      dispatchMain()
    } catch {
      write("apns-simulator: \(error)\n\n\(Arguments.usage.help)", to: STDERR_FILENO)
      exit(2)
    }
  }

  @EventLoop
  private static func run(_ arguments: Arguments) {
    do {
      let service = try Service(arguments, log: Log(level: .info))
      running = service
      try service.start()
      write(service.readyLine() + [UInt8(ascii: "\n")], to: STDOUT_FILENO)
    } catch {
      Log.flush()
      write("apns-simulator: \(error)\n", to: STDERR_FILENO)
      exit(1)
    }
  }

  /// Writes without a buffer. An error cannot be reported.
  private static func write(_ text: String, to descriptor: Int32) {
    write(Array(text.utf8), to: descriptor)
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) {
    _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
  }

  @EventLoop private static var running: Service?
}

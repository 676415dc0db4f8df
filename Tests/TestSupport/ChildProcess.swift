import Foundation
public import Glibc

/// A program under test: its output lines, signals and exit code. It ends with the test process.
public final class ChildProcess: Sendable {
  public enum Stream: Sendable { case output, error }

  private struct State {
    var lines: [(stream: Stream, text: String)] = []
    var openStreams = 2
    /// Exit code, or 128 + signal.
    var exitCode: Int32?
  }

  public let program: String
  public let pid: pid_t
  private let state = Locked(State())

  /// `program` is a path, or a name to look up in PATH. `environment` is all that the program sees, beside PATH.
  /// `input` is what it reads on stdin.
  public init(
    _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], input: String = ""
  ) throws {
    self.program = program
    let output = try Pipe.make()
    let error = try Pipe.make()
    let stdin = try Pipe.file(containing: input)
    defer { for descriptor in [stdin, output.writing, error.writing] { close(descriptor) } }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    pid = try Spawner.start(
      Spawner.Program(
        path: program, arguments: arguments, environment: environment.merging(["PATH": path]) { own, _ in own },
        input: stdin, output: output.writing, error: error.writing))
    Thread.detachNewThread { self.read(output.reading, .output) }
    Thread.detachNewThread { self.read(error.reading, .error) }
    Thread.detachNewThread { self.awaitExit() }
  }

  /// The lines written so far to both streams, in the order of arrival.
  public var lines: [String] { state.withLock { $0.lines.map(\.text) } }

  public func lines(of stream: Stream) -> [String] {
    state.withLock { state in state.lines.filter { $0.stream == stream }.map(\.text) }
  }

  /// Nil while it runs; 128 + signal when a signal ended it. Its output is complete once this is set.
  public var exitCode: Int32? { state.withLock { $0.openStreams == 0 ? $0.exitCode : nil } }

  public var isRunning: Bool { state.withLock { $0.exitCode == nil } }

  /// The first line, old or new, that `isWanted`; throws when it exits before or time runs out.
  @discardableResult
  public func line(_ what: String, where isWanted: (String) -> Bool) async throws -> String {
    let deadline = ContinuousClock.now + patience
    while true {
      let hasEnded = exitCode != nil
      if let line = lines.first(where: isWanted) { return line }
      guard !hasEnded, ContinuousClock.now < deadline else {
        throw TestTimeout("\(program) never wrote \(what); \(hasEnded ? "it exited" : "it runs") after:\n\(transcript)")
      }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// Waits for the end.
  @discardableResult
  public func exit(within: Duration = patience) async throws -> Int32 {
    let deadline = ContinuousClock.now + within
    while ContinuousClock.now < deadline {
      if let exitCode { return exitCode }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw TestTimeout("\(program) did not exit within \(within):\n\(transcript)")
  }

  /// Does nothing if the program has ended. After SIGSTOP it has stopped: on a busy machine its threads go on for a while.
  public func signal(_ signal: Int32) {
    state.withLock { if $0.exitCode == nil { _ = kill(pid, signal) } }
    guard signal == SIGSTOP else { return }
    var info = siginfo_t()
    waitid(P_PID, id_t(pid), &info, WSTOPPED | WEXITED | WNOWAIT)
  }

  /// SIGTERM, and SIGKILL when that does not end it.
  @discardableResult
  public func stop(within: Duration = patience) async throws -> Int32 {
    signal(SIGTERM)
    do {
      return try await exit(within: within)
    } catch {
      signal(SIGKILL)
      throw error
    }
  }

  private var transcript: String { lines.suffix(50).joined(separator: "\n") }

  private func read(_ descriptor: Int32, _ stream: Stream) {
    var rest: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 * 1024)
    while true {
      let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      rest += chunk[..<count]
      var parts = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      rest = Array(parts.removeLast())
      append(parts.map { String(decoding: $0, as: UTF8.self) }, stream)
    }
    if !rest.isEmpty { append([String(decoding: rest, as: UTF8.self)], stream) }
    close(descriptor)
    state.withLock { $0.openStreams -= 1 }
  }

  private func append(_ lines: [String], _ stream: Stream) {
    state.withLock { state in
      for line in lines { state.lines.append((stream, line)) }
    }
  }

  private func awaitExit() {
    var information = siginfo_t()
    while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    // Reaped under the lock, so that no signal reaches another process with the same id.
    state.withLock { state in
      var status: Int32 = 0
      waitpid(pid, &status, 0)
      let signal = status & 0x7f
      state.exitCode = signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }
  }
}

extension ChildProcess {
  /// Runs a program to its end; throws when it fails.
  @discardableResult
  public static func run(
    _ program: String, _ arguments: [String], environment: [String: String] = [:], input: String = ""
  ) async throws -> String {
    let child = try ChildProcess(program, arguments, environment: environment, input: input)
    let code = try await child.exit()
    guard code == 0 else { throw TestTimeout("\(program) \(arguments) failed with \(code): \(child.transcript)") }
    return child.lines(of: .output).joined(separator: "\n")
  }
}

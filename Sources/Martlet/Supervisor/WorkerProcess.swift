import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// A running worker process, as its supervisor sees it.
@EventLoop
final class WorkerProcess {
  /// What it answered at a path of its admin port.
  struct Answer: Sendable {
    let status: Int
    let body: [UInt8]
  }

  /// A process that has not answered so many questions is asked no more: it hangs, and questions would fill its socket.
  private static let maximumOpenQuestions = 4

  let pid: pid_t
  private var channel: Channel?
  private var lastNumber: UInt32 = 0
  /// By number. Nil for one whose time is over: the answer will be ignored.
  private var questions: [UInt32: (@EventLoop (Answer?) -> Void)?] = [:]

  /// Starts one. Throws if the system has no room for it.
  init() throws(StartError) {
    guard let (own, other) = Channel.pair() else { throw StartError(code: errno) }
    defer { close(other) }
    do throws(StartError) {
      pid = try WorkerProgram.start(channel: other)
    } catch {
      close(own)
      throw error
    }
    channel = Channel(
      own, onMessage: { [weak self] message in self?.receive(message) },
      onClose: { [weak self] in self?.channelClosed() })
    if channel == nil { close(own) }
  }

  /// Asks it to finish and to end.
  func stop() { command(.stop, or: SIGTERM) }

  /// Asks it to end at once.
  func hurry() { command(.hurry, or: SIGTERM) }

  /// Ends it. Its jobs run on other workers when its lease has expired.
  func kill() { _ = Glibc.kill(pid, SIGKILL) }

  /// Asks it to read its files again.
  func reload() { command(.reload, or: SIGHUP) }

  /// Asks for the answer at a path of its admin port. Calls `body` once, with nil if there is no answer within `timeout`.
  func ask(_ path: String, timeout: Duration, _ body: @escaping @EventLoop (Answer?) -> Void) {
    guard let channel, questions.count < WorkerProcess.maximumOpenQuestions else { return body(nil) }
    lastNumber &+= 1
    let number = lastNumber
    var timer: LoopTimer?
    questions[number] = { answer in
      timer?.cancel()
      timer = nil
      body(answer)
    }
    timer = .after(timeout) { [weak self] in
      guard let self, case .some(.some(let reply)) = self.questions[number] else { return }
      self.questions[number] = .some(nil)
      reply(nil)
    }
    channel.send(.ask(number: number, path: path))
  }

  /// For its end: no question is left open.
  func ended() {
    channel?.close()
    channelClosed()
  }

  private func receive(_ message: ChannelMessage) {
    guard case .answer(let number, let status, let body) = message, let question = questions.removeValue(forKey: number)
    else { return }
    question?(Answer(status: Int(status), body: body))
  }

  private func channelClosed() {
    channel = nil
    let open = questions.values
    questions = [:]
    for question in open { question?(nil) }
  }

  /// Without a channel a signal says the same. The process has not been waited for, so its id is its own.
  private func command(_ message: ChannelMessage, or signal: Int32) {
    if let channel { channel.send(message) } else { _ = Glibc.kill(pid, signal) }
  }
}

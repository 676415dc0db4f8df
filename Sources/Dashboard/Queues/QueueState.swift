import EventLoop
import Jobs
import Queue

/// What the pages of queues know of one.
struct QueueState {
  let overview: QueueOverview
  /// Since when the oldest waiting job waits, unix ms; nil if it does not tell.
  let waitingSince: Int64?

  /// An older time of a producer is not believed, in ms: it may be in seconds.
  private static let maximumWait: Int64 = 28 * 24 * 3_600_000

  /// Nil unless the queue is paused.
  var pause: QueuePause? { overview.pause }

  @EventLoop
  static func read(_ queue: String, context: DashboardContext, now: Int64) async throws(PageError) -> QueueState {
    let overview = try await refusingFaults(await QueueOverview.read(queue, from: context.connection))
    let browser = QueueBrowser(queue: queue, connection: context.connection)
    let oldest = try await refusingFaults(await browser.waiting(.front, limit: 1)).first
    return QueueState(overview: overview, waitingSince: since(oldest, now: now))
  }

  /// Of the fleet's own elements the time is not known: they were claimed before, or waited elsewhere.
  static func since(_ oldest: BrowsedJob?, now: Int64) -> Int64? {
    guard let oldest, oldest.nonce == nil, let at = JobSummary(job: oldest.job).enqueuedAt,
      at >= 0, now - at <= maximumWait
    else { return nil }
    return min(at, now)
  }

  /// Jobs that the workers of this queue end in a second, in all their queues.
  static func rate(_ states: [QueueState]) -> Double {
    var rates: [String: Double] = [:]
    for state in states {
      for (name, report) in state.overview.workers { rates[name] = report.jobsPerSecond }
    }
    return rates.values.reduce(0, +)
  }
}

extension QueueState {
  /// Whether the queue is paused, by whom, since when and why.
  func badge(now: Int64) -> Cell {
    guard let pause else { return .badge("running", .good) }
    return .content { html in
      html.element("span") { html in
        html.badge("paused", .warn)
        html.text(" ")
        html.element("span", ["class": "quiet"]) { html in
          html.text("by \(pause.by.isEmpty ? "an operator" : pause.by) ")
          html.time(pause.since, now: now)
          if !pause.reason.isEmpty { html.text(": \(pause.reason)") }
        }
      }
    }
  }

  func age(now: Int64) -> Cell {
    if overview.waiting == 0 { return .text("–") }
    return waitingSince.map { .text(TimeText.duration(now - $0)) }
      ?? .content { $0.element("span", ["class": "quiet"], "not known") }
  }
}

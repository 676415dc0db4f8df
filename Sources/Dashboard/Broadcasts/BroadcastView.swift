import Operations
import Queue
import Registry

/// What pages show of a broadcast.
struct BroadcastView {
  let status: BroadcastStatus
  /// Nil if it is not read, because the broadcast has ended.
  var audience: AudienceProgress?

  var entry: BroadcastEntry { status.entry }

  var isOver: Bool { status.isOver }

  var badge: Cell {
    switch entry.state {
    case .waiting: .badge("waiting", .info)
    case .running: .badge("running", .info)
    case .paused: .badge("paused", .warn)
    case .finished: .badge("finished", .good)
    case .cancelled: .badge("cancelled", .neutral)
    }
  }

  var progress: Cell {
    if entry.state == .finished { return .content { $0.progress(done: 1, total: 1, label: "Progress of \(entry.id)") } }
    guard let audience else { return .none }
    return .content { html in
      html.progress(
        done: Int64(audience.passed), total: Int64(audience.size), label: "Progress of \(entry.id)")
    }
  }

  /// Pushes per second; nothing unless it runs.
  func pace(now: Int64) -> Cell { status.pace(at: now).map { .text(NumberText.short($0) + " /s") } ?? .none }

  /// When it will have reached everyone, at its present pace, unix ms.
  func end(now: Int64) -> Int64? {
    guard let pace = status.pace(at: now), pace > 0, let audience else { return nil }
    let seconds = Double(audience.size - audience.passed) / pace
    return seconds < Double(Int32.max) ? now + Int64(seconds * 1000) : nil
  }

  func buttons(_ request: PageRequest, fields: [(String, String)] = [], _ html: inout HTML) {
    guard !isOver else { return }
    if status.pause == nil, entry.state != .paused {
      html.actionForm(request, .pause, "Pause", fields: fields, describedBy: "broadcast \(entry.id)")
    } else {
      html.actionForm(
        request, .resume, "Resume", style: .primary, fields: fields,
        describedBy: "broadcast \(entry.id)")
    }
  }
}

extension BroadcastStatus {
  var isOver: Bool { entry.state == .finished || entry.state == .cancelled }
}

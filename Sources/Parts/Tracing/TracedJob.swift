import Jobs

/// What the spans of an attempt contain about its job.
struct TracedJob: Equatable {
  var id: String
  var queue: String
  var app: String?
  var result: JobResult
  /// Since when the job waited, unix ms; nil if that is unknown, or this is not the first attempt.
  var waitingSince: Int64?

  /// Why the attempt is an error; nil if it is not.
  var error: String? {
    switch result.status {
    case .dead, .failed: result.reason ?? result.reasons.first?.reason ?? result.status.rawValue
    default: nil
    }
  }
}

extension JobTrace {
  /// Returns the span of the attempt and its parts: waiting in the queue, resolving, and the pushes.
  ///
  /// `spanID` makes ids. `end` is unix nanoseconds.
  func spans(_ facts: TracedJob, end: UInt64, spanID: () -> String = TraceID.randomSpan) -> [Span] {
    // The clock of the producer may be ahead.
    let waitingSince = facts.waitingSince.map { min(claimedAt, Tracer.nanoseconds($0)) }
    var job = Span(
      traceID: traceID, id: spanID(), parentID: parentID, name: "martlet job", kind: .consumer,
      start: waitingSince ?? claimedAt, end: max(end, claimedAt))
    job.set("messaging.system", "martlet")
    job.set("messaging.operation.type", "process")
    job.set("messaging.destination.name", facts.queue)
    job.set("messaging.message.id", facts.id)
    job.set("martlet.status", facts.result.status.rawValue)
    job.set("martlet.reason", facts.result.reason)
    job.set("martlet.attempts", facts.result.attempts)
    job.set("martlet.app", facts.app)
    job.set("martlet.accepted", facts.result.accepted)
    job.set("martlet.failed", facts.result.failed)
    job.set("martlet.worker", facts.result.worker)
    if omittedPushes > 0 { job.set("martlet.omitted_pushes", omittedPushes) }
    job.error = facts.error
    var spans = [job]
    func child(_ name: String, _ kind: Span.Kind, _ start: UInt64, _ end: UInt64) -> Span {
      Span(
        traceID: traceID, id: spanID(), parentID: job.id, name: name, kind: kind, start: start, end: max(start, end))
    }
    if let waitingSince { spans.append(child("wait", .internal, waitingSince, claimedAt)) }
    if let resolvedAt { spans.append(child("resolve", .internal, claimedAt, resolvedAt)) }
    for push in pushes {
      var span = child("push", .client, push.start, push.end)
      if push.status != 0 { span.set("http.response.status_code", push.status) }
      span.set("apns.reason", push.reason)
      span.set("apns.id", push.apnsID)
      span.set("apns.topic", push.topic)
      span.set("apns.environment", push.environment)
      span.set("martlet.token", push.token)
      span.error = push.reason
      spans.append(span)
    }
    return spans
  }
}

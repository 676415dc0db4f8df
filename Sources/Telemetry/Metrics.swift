public import EventLoop

/// The metrics of a process and their Prometheus text.
///
/// Every family is registered once, at the start. Names follow Prometheus' conventions: base units, and `_total` at the end
/// of a counter's name and of no other.
///
/// `help` says what the samples are, in one line of Markdown, and `worry` what a reader should look into. The table of
/// docs/watching.md is made from the calls, so `help`, `worry` and labels are literals.
@EventLoop
public final class Metrics {
  private var families: [any MetricFamily] = []

  public init() {}

  public func counter(_ name: String, help: String, worry: String? = nil) -> Counter {
    add(CounterFamily(MetricHead(name: name, type: .counter, help: help), label: nil))[""]
  }

  /// A counter that is kept elsewhere and read on each scrape. Nil leaves the sample out.
  public func counter(_ name: String, help: String, worry: String? = nil, read: @escaping @EventLoop () -> Double?) {
    observe(name, .counter, help) { read().map { [([], $0)] } ?? [] }
  }

  /// One counter for each value of `label`.
  public func counters(_ name: String, label: String, help: String, worry: String? = nil) -> CounterFamily {
    add(CounterFamily(MetricHead(name: name, type: .counter, help: help), label: label))
  }

  /// One counter for each combination of the labels' values.
  public func counters(_ name: String, labels: [String], help: String, worry: String? = nil) -> LabelledCounterFamily {
    add(LabelledCounterFamily(MetricHead(name: name, type: .counter, help: help), labels: labels))
  }

  /// A number that is read on each scrape. Nil leaves the sample out.
  public func gauge(_ name: String, help: String, worry: String? = nil, read: @escaping @EventLoop () -> Double?) {
    observe(name, .gauge, help) { read().map { [([], $0)] } ?? [] }
  }

  /// Numbers that are read on each scrape. Each has a value for each label, in their order; there must be few of them.
  public func gauge(
    _ name: String, labels: [String], help: String, worry: String? = nil,
    read: @escaping @EventLoop () -> [([String], Double)]
  ) {
    observe(name, .gauge, help, labels: labels, read)
  }

  /// A histogram of durations; the unit is seconds. `bounds` are the upper bounds of the buckets, by default 100 us to
  /// 5 minutes.
  public func histogram(_ name: String, help: String, worry: String? = nil, bounds: [Duration]? = nil) -> Histogram {
    add(Histogram(MetricHead(name: name, type: .histogram, help: help), bounds: bounds ?? Histogram.workBounds))
  }

  /// The text format 0.0.4.
  public func prometheusText() -> String {
    var text = ""
    for family in families {
      family.head.write(to: &text)
      family.writeSamples(to: &text)
    }
    return text
  }

  private func observe(
    _ name: String, _ type: MetricHead.MetricType, _ help: String, labels: [String] = [],
    _ read: @escaping @EventLoop () -> [ObservedFamily.Sample]
  ) {
    _ = add(ObservedFamily(MetricHead(name: name, type: type, help: help), labels: labels, read: read))
  }

  private func add<Family: MetricFamily>(_ family: Family) -> Family {
    precondition(!families.contains { $0.head.name == family.head.name }, "\(family.head.name) is registered twice")
    families.append(family)
    return family
  }
}

/// Samples that share a name.
@EventLoop
protocol MetricFamily {
  var head: MetricHead { get }

  func writeSamples(to text: inout String)
}

/// What the samples of a family share, and how they are written.
struct MetricHead {
  enum MetricType: String { case counter, gauge, histogram }

  /// Replaces the label values that a family has no room for.
  static let otherLabelValue = "other"

  let name: String
  let type: MetricType
  /// One line of plain text, without backslashes.
  let help: String

  /// - Parameter help: Markdown, of which the text is kept: no marks of code, no targets of links.
  init(name: String, type: MetricType, help: String) {
    self.name = name
    self.type = type
    self.help = help.replacing(#/\[(.+?)\]\(.*?\)/#) { $0.1 }.replacing("`", with: "")
  }

  func write(to text: inout String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }

  /// `name{label="value"} number` and a line end. Values without a label are left out.
  func writeSample(
    suffix: String = "", _ labels: [String], _ values: [String], _ number: String, to text: inout String
  ) {
    let pairs = zip(labels, values).map { "\($0)=\"\(MetricHead.escaped($1))\"" }.joined(separator: ",")
    text += "\(name)\(suffix)\(pairs.isEmpty ? "" : "{\(pairs)}") \(number)\n"
  }

  private static func escaped(_ value: String) -> String {
    var escaped = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

#if canImport(Glibc)
  import Glibc
#endif

extension Metrics {
  /// Adds the standard metrics of a process, which are read from /proc/self on each scrape, and `martlet_build_info`. One that
  /// cannot be read has no sample.
  ///
  /// https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
  public func addProcess(version: String) {
    let startTime = ProcessStatus.current?.startTime
    counter(
      "process_cpu_seconds_total", help: "user and system CPU time", worry: "its rate is near 1: add a process"
    ) { ProcessStatus.current?.cpuSeconds }
    gauge("process_resident_memory_bytes", help: "resident memory", worry: "it keeps growing") {
      ProcessStatus.current?.residentBytes
    }
    gauge("process_virtual_memory_bytes", help: "virtual memory") { ProcessStatus.current?.virtualBytes }
    gauge("process_open_fds", help: "open file descriptors", worry: "it is near `process_max_fds`") {
      Metrics.openDescriptors.map(Double.init)
    }
    gauge(
      "process_max_fds", help: "limit of open file descriptors",
      worry: "it is too low for the expected connections"
    ) { Metrics.maximumDescriptors }
    gauge(
      "process_start_time_seconds", help: "start of the process, in unix seconds",
      worry: "it changes without a deployment"
    ) { startTime }
    gauge(
      "martlet_build_info", labels: ["version", "swift"],
      help: "always 1; the version of Martlet and of the Swift compiler", worry: "versions differ in one fleet"
    ) { [([version, Metrics.swiftVersion], 1)] }
  }

  /// Of the compiler that built this program.
  public nonisolated static var swiftVersion: String {
    #if compiler(>=6.4)
      "6.4 or newer"
    #elseif compiler(>=6.3)
      "6.3"
    #else
      "6.2"
    #endif
  }

  private static var openDescriptors: Int? {
    let path = "/proc/self/fd"
    // Since Linux 6.2 the size of the directory is their number.
    var status = stat()
    if stat(path, &status) == 0, status.st_size > 0 { return Int(status.st_size) }
    guard let directory = opendir(path) else { return nil }
    defer { closedir(directory) }
    var entries = 0
    while readdir(directory) != nil { entries += 1 }
    // `.`, `..` and the descriptor of the directory itself.
    return entries - 3
  }

  private static var maximumDescriptors: Double? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
    return Double(limit.rlim_cur)
  }
}

/// What /proc/self/stat reports; see proc(5).
private struct ProcessStatus {
  let cpuSeconds: Double
  let residentBytes: Double
  let virtualBytes: Double
  /// Unix seconds.
  let startTime: Double

  static var current: ProcessStatus? {
    guard let file = fopen("/proc/self/stat", "r") else { return nil }
    defer { fclose(file) }
    var buffer = [UInt8](repeating: 0, count: 1024)
    let count = fread(&buffer, 1, buffer.count, file)
    return ProcessStatus(parsing: String(decoding: buffer[..<count], as: UTF8.self))
  }

  private init?(parsing text: String) {
    // The second field is the program's name in parentheses, which may contain anything.
    guard let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[text.index(after: end)...].split(separator: " ")
    /// The fields as proc(5) numbers them.
    func field(_ number: Int) -> Double? { fields.count > number - 3 ? Double(fields[number - 3]) : nil }
    guard let user = field(14), let system = field(15), let start = field(22), let size = field(23),
      let pages = field(24)
    else { return nil }
    let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
    cpuSeconds = (user + system) / ticks
    virtualBytes = size
    residentBytes = pages * Double(sysconf(Int32(_SC_PAGESIZE)))
    startTime = ProcessStatus.bootTime + start / ticks
  }

  /// Unix seconds.
  private static var bootTime: Double {
    func seconds(_ clock: clockid_t) -> Double {
      var time = timespec()
      clock_gettime(clock, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    return seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME)
  }
}

import EventLoop

#if canImport(Glibc)
  import Glibc
#endif

/// One of the standard metrics of a process, read from /proc/self on each scrape. It has no sample where that cannot be read.
@EventLoop
final class ProcessFamily: MetricFamily {
  let head: MetricHead
  private let read: @EventLoop () -> Double?

  private init(
    _ name: String, _ type: MetricHead.MetricType, _ help: String, read: @escaping @EventLoop () -> Double?
  ) {
    head = MetricHead(name: name, type: type, help: help)
    self.read = read
  }

  func writeSamples(to text: inout String) {
    if let number = read() { head.writeSample([], [], "\(number)", to: &text) }
  }

  /// https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
  static var all: [ProcessFamily] {
    let startTime = ProcessStatus.current?.startTime
    return [
      ProcessFamily("process_cpu_seconds_total", .counter, "User and system CPU time.") {
        ProcessStatus.current?.cpuSeconds
      },
      ProcessFamily("process_resident_memory_bytes", .gauge, "Resident memory.") {
        ProcessStatus.current?.residentBytes
      },
      ProcessFamily("process_virtual_memory_bytes", .gauge, "Virtual memory.") { ProcessStatus.current?.virtualBytes },
      ProcessFamily("process_open_fds", .gauge, "Open file descriptors.") { openDescriptors.map(Double.init) },
      ProcessFamily("process_max_fds", .gauge, "Limit of open file descriptors.") { maximumDescriptors },
      ProcessFamily("process_start_time_seconds", .gauge, "Start of the process, in unix seconds.") { startTime },
    ]
  }

  /// Of the compiler that built this program.
  static var swiftVersion: String {
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

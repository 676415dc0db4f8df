#if canImport(Glibc)
  import Glibc
#endif

/// Starts worker processes: this same program, with one end of a channel.
enum WorkerProgram {
  /// The channel's descriptor in a worker process.
  static let channelDescriptor: Int32 = 3
  /// The option that tells a worker process its channel. Not for users.
  static let option = "supervised"

  /// The file of this program, also after another version has replaced it.
  private static let file = "/proc/self/exe"

  /// Starts a process, which gets this one's standard streams and `channel`. All other descriptors are closed there: they are opened
  /// with `CLOEXEC`.
  ///
  /// Signals stay blocked until the process listens to them, so that none ends it before.
  static func start(channel: Int32) throws(StartError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, channel, channelDescriptor)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (blocked, all) = (sigset_t(), sigset_t())
    sigemptyset(&blocked)
    for signal in Termination.signals + [Reload.signal] { sigaddset(&blocked, signal) }
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &blocked)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let name = CommandLine.arguments.first ?? "martlet"
    let words = [name, WorkerCommand.name, "--\(option)", "\(channelDescriptor)"]
    var arguments = words.map { strdup($0) } + [nil]
    defer { for word in arguments { free(word) } }
    var pid: pid_t = 0
    let code = posix_spawn(&pid, file, &actions, &attributes, &arguments, environ)
    guard code == 0 else { throw StartError(code: code) }
    return pid
  }

  /// Names a worker process as users know it: a program that is started from `/proc` is called `exe`.
  static func nameProcess() {
    guard let file = fopen("/proc/self/comm", "w") else { return }
    fputs("martlet", file)
    fclose(file)
  }
}

/// Why a worker process could not be started.
struct StartError: Error, CustomStringConvertible {
  /// Of the system.
  let code: Int32

  var description: String { String(cString: strerror(code)) }
}

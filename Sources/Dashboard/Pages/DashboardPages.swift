import EventLoop

/// All pages.
@EventLoop
enum DashboardPages {
  static func all(_ context: DashboardContext) -> [any DashboardPage] {
    [
      OverviewPage(context: context)
    ]
  }
}

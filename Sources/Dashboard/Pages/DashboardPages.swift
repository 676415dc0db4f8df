import EventLoop

/// All pages.
@EventLoop
enum DashboardPages {
  static func all(_ context: DashboardContext) -> [any DashboardPage] {
    [
      OverviewPage(context: context),
      QueuesPage(context: context),
      QueuePage(context: context),
      JobPage(context: context),
      DeadPage(context: context),
      ScheduledPage(context: context),
      BroadcastsPage(context: context),
      BroadcastPage(context: context),
      SearchPage(context: context),
      DevicesPage(context: context),
      AppsPage(context: context),
      WorkersPage(context: context),
      PoliciesPage(context: context),
      CredentialsPage(context: context),
      AuditPage(context: context),
    ]
  }
}

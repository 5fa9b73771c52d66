// Not run by the project's own tests, which are on Linux; compiled only where there is UIKit.
#if canImport(UIKit) && !os(watchOS)
    public import RepriseCore
    import UIKit

    /// Tells a client, or the accounts, what the system does with the app.
    ///
    /// ```swift
    /// let life = SystemAppLife(of: home)    // keep it as long as the app runs
    /// ```
    @MainActor
    public final class SystemAppLife {
        // Written while it is made, read when nobody has it any more.
        private nonisolated(unsafe) var observers: [any NSObjectProtocol] = []
        private var isTold = false

        /// Begins to listen; ends with the object.
        ///
        /// - Parameter client: who is told.
        public init(of client: any AppLife) {
            listen(UIApplication.didEnterBackgroundNotification) { life in
                life.isTold = true
                Self.background(client)
            }
            listen(UIApplication.willEnterForegroundNotification) { $0.foreground(client) }
            // An app without scenes hears of its launch by this alone.
            listen(UIApplication.didBecomeActiveNotification) { life in
                if !life.isTold { life.foreground(client) }
            }
            listen(UIApplication.didReceiveMemoryWarningNotification) { _ in
                Task { await client.memoryPressure() }
            }
            // Every other state is left open: an app with scenes is launched in the background,
            // whoever launches it.
            if UIApplication.shared.applicationState == .active { foreground(client) }
        }

        private func foreground(_ client: any AppLife) {
            isTold = true
            Task { await client.foreground() }
        }

        deinit { for observer in observers { NotificationCenter.default.removeObserver(observer) } }

        /// Hears of all of them on the main queue: a task for each name could hear of a later one
        /// first.
        private func listen(
            _ name: Notification.Name, _ body: @escaping @MainActor (SystemAppLife) -> Void
        ) {
            observers.append(
                NotificationCenter.default.addObserver(forName: name, object: nil, queue: .main) {
                    [weak self] _ in
                    MainActor.assumeIsolated {
                        if let self { body(self) }
                    }
                })
        }

        /// Asks the system for time, uses what it grants, and gives it back.
        private static func background(_ client: any AppLife) {
            let application = UIApplication.shared
            var id = UIBackgroundTaskIdentifier.invalid
            let end = { @MainActor in
                application.endBackgroundTask(id)
                id = .invalid
            }
            id = application.beginBackgroundTask { MainActor.assumeIsolated { end() } }
            // The system says "without end" while the app is still in the foreground.
            let granted = min(application.backgroundTimeRemaining, 600)
            Task {
                await client.background(granted: .seconds(granted))
                end()
            }
        }
    }
#endif

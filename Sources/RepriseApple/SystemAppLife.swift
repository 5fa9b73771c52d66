// Not run by the project's own tests, which run on Linux; compiled only with UIKit.
#if canImport(UIKit) && !os(watchOS)
    public import RepriseCore
    import UIKit

    /// Reports the app's life cycle to a client, or to the accounts.
    ///
    /// ```swift
    /// let life = SystemAppLife(of: home)    // keep it as long as the app runs
    /// ```
    @MainActor
    public final class SystemAppLife {
        // Written during init, read after the last reference is gone.
        private nonisolated(unsafe) var observers: [any NSObjectProtocol] = []
        private var isTold = false

        /// Starts to observe; ends with the object.
        ///
        /// - Parameter client: the client to tell.
        public init(of client: any AppLife) {
            listen(UIApplication.didEnterBackgroundNotification) { life in
                life.isTold = true
                Self.background(client)
            }
            listen(UIApplication.willEnterForegroundNotification) { $0.foreground(client) }
            // An app without scenes learns of its launch by this alone.
            listen(UIApplication.didBecomeActiveNotification) { life in
                if !life.isTold { life.foreground(client) }
            }
            listen(UIApplication.didReceiveMemoryWarningNotification) { _ in
                Task { await client.memoryPressure() }
            }
            // Every other state is left open: the system always launches an app with scenes in the
            // background.
            if UIApplication.shared.applicationState == .active { foreground(client) }
        }

        private func foreground(_ client: any AppLife) {
            isTold = true
            Task { await client.foreground() }
        }

        deinit { for observer in observers { NotificationCenter.default.removeObserver(observer) } }

        /// Observes all of them on the main queue: with a task for each name a later one could
        /// arrive first.
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

        /// Requests background time, uses it, and gives it back.
        private static func background(_ client: any AppLife) {
            let application = UIApplication.shared
            var id = UIBackgroundTaskIdentifier.invalid
            let end = { @MainActor in
                guard id != .invalid else { return }
                application.endBackgroundTask(id)
                id = .invalid
            }
            id = application.beginBackgroundTask(withName: "reprise") {
                // The client is told before the task ends, and closes its connection.
                Task {
                    await client.background(granted: .zero)
                    end()
                }
                Task {
                    try? await Task.sleep(for: BackgroundTime.closing)
                    end()
                }
            }
            let granted = BackgroundTime.granted(remaining: application.backgroundTimeRemaining)
            Task {
                await client.background(granted: granted)
                end()
            }
        }
    }
#endif

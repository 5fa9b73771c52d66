// Not run by the project's own tests, which run on Linux; compiled only with Network.framework.
#if canImport(Network)
    import Foundation
    import Dispatch
    import Network
    public import RepriseCore
    #if canImport(UIKit)
        import UIKit
    #endif

    /// This device's conditions for deferrable work: `NWPathMonitor`, `UIDevice` and the volume of
    /// the app's data.
    ///
    /// ```swift
    /// configuration.deviceStatus = SystemDeviceStatus()
    /// ```
    ///
    /// A Mac counts as charging. The free space is read again with each change of the other two,
    /// and once a minute.
    public struct SystemDeviceStatus: DeviceStatus {
        /// Makes one.
        public init() {}

        /// The current conditions, then each change.
        public var conditions: AsyncStream<DeviceConditions> {
            AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
                let work = Task {
                    var last: DeviceConditions?
                    for await path in Self.moments() {
                        let now = DeviceConditions(
                            network: path.status == .satisfied,
                            unmetered: path.status == .satisfied && !path.isExpensive
                                && !path.isConstrained,
                            charging: await Self.isCharging(), freeBytes: Self.freeBytes())
                        if now != last { continuation.yield(now) }
                        last = now
                    }
                }
                continuation.onTermination = { _ in work.cancel() }
            }
        }

        /// The newest path, again whenever another condition may have changed.
        private static func moments() -> AsyncStream<NWPath> {
            AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
                let monitor = NWPathMonitor()
                monitor.pathUpdateHandler = { continuation.yield($0) }
                monitor.start(queue: .global())
                let minutes = Task {
                    while (try? await Task.sleep(for: .seconds(60))) != nil {
                        continuation.yield(monitor.currentPath)
                    }
                }
                #if canImport(UIKit) && !os(watchOS)
                    let battery = Task { @MainActor in
                        UIDevice.current.isBatteryMonitoringEnabled = true
                        let changes = NotificationCenter.default.notifications(
                            named: UIDevice.batteryStateDidChangeNotification)
                        for await _ in changes.map({ _ in }) {
                            continuation.yield(monitor.currentPath)
                        }
                    }
                #endif
                continuation.onTermination = { _ in
                    monitor.cancel()
                    minutes.cancel()
                    #if canImport(UIKit) && !os(watchOS)
                        battery.cancel()
                    #endif
                }
            }
        }

        private static func isCharging() async -> Bool {
            #if canImport(UIKit) && !os(watchOS)
                await MainActor.run {
                    UIDevice.current.isBatteryMonitoringEnabled = true
                    return switch UIDevice.current.batteryState {
                    case .charging, .full: true
                    case .unplugged, .unknown: false
                    @unknown default: false
                    }
                }
            #else
                true
            #endif
        }

        /// The space available to deferrable work.
        private static func freeBytes() -> Int64 {
            let key = URLResourceKey.volumeAvailableCapacityForOpportunisticUsageKey
            let values = try? URL.homeDirectory.resourceValues(forKeys: [key])
            return values?.volumeAvailableCapacityForOpportunisticUsage ?? 0
        }
    }
#endif

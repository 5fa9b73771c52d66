/// Messages for an app in the foreground, in the background, suspended and killed.
package struct SocketNoticesWorkload: Workload {
    package var name: String { "seed-004" }
    package var summary: String { "local notifications over a socket" }

    /// Within how long the person is told while their phone has a network.
    ///
    /// Ours pushes after 5 s.
    static let timeout: Duration = .seconds(60)

    package func schedule(seed: UInt64) -> FaultSchedule {
        // "After 30s → iOS may suspend"; force-quit; the connection is lost.
        .draw(seed: seed, kinds: [(.suspend, 4), (.killDevice, 2), (.cut, 2), (.delay, 1)])
    }

    package func play(_ simulation: Simulation, on tier: Tier) {
        Self.play(simulation) { fixture, _ in
            OriginalNoticeServer(simulation, network: fixture.network)
        }
    }

    /// Plays the workload with a server of whichever kind.
    static func play(
        _ simulation: Simulation,
        server: (BaselineFixture, [SocketNoticesDevice]) -> OriginalNoticeServer
    ) {
        let fixture = BaselineFixture(simulation)
        let observer = BaselineObserver(simulation, noun: "message")
        let devices = fixture.processes.enumerated().map { device, process in
            SocketNoticesDevice(
                simulation, network: fixture.network, on: process, device: device,
                observer: observer)
        }
        let server = server(fixture, devices)
        var published = 0
        let moments = fixture.moments(from: .seconds(1), purpose: "message")
        for moment in moments.sorted(by: { $0.at < $1.at }) {
            simulation.after(moment.at) {
                let message = published
                published += 1
                server.publish()
                for (number, device) in devices.enumerated() {
                    observer.accepted(message, device: number)
                    watch(message, device, simulation, published: { published })
                }
            }
        }
        fixture.play(rest: .seconds(240)) { _, _ in }
        withExtendedLifetime(server) {}
        observer.finish { _ in
            .recorded
        } _: { _ in
            "its catch-up did not bring it"
        }
    }

    /// Looks whether the person has been told in time.
    ///
    /// What comes while the app is terminated is not held against the case study, which says itself
    /// that it needs APNs.
    private static func watch(
        _ message: Int, _ device: SocketNoticesDevice, _ simulation: Simulation,
        published: @escaping () -> Int
    ) {
        let accepted = simulation.now
        simulation.after(timeout) {
            guard !device.hasTold(message), device.process.state == .suspended,
                device.lastKilled < accepted
            else { return }
            simulation.violated(
                .alive,
                "nobody was told of message \(message) for \(Baseline.seconds(timeout)) on "
                    + "\(device.process.name): it has a network, its app is suspended and shows no "
                    + "banner; the badge says \(device.badge), and \(published()) are unread")
        }
    }
}

extension Baseline {
    static let notices: [Baseline] = [
        Baseline(
            name: "004", seed: "004",
            does: "triggers a local notification when a message comes over the socket",
            shouldHaveKept:
                "what this device was told, on the server, which pushes the rest (Notices)",
            workload: SocketNoticesWorkload(), control: PushedNoticesControl())
    ]
}

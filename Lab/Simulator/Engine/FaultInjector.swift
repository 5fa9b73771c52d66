import RepriseCore

/// Lets the faults of a schedule loose that are the same for every workload: networks, processes,
/// disks, clocks.
package struct FaultInjector {
    /// What a fault can be aimed at.
    package struct Machine {
        package var process: SimulatedProcess
        package var disk: SimulatedDisk
        /// What is lost with the power, in its store.
        package var crash: (_ losingPower: Bool) -> Void

        package init(
            process: SimulatedProcess, disk: SimulatedDisk,
            crash: @escaping (_ losingPower: Bool) -> Void
        ) {
            self.process = process
            self.disk = disk
            self.crash = crash
        }
    }

    /// Whether the time of faults is over.
    private final class Season {
        var isOver = false
    }

    private let season = Season()
    private let simulation: Simulation
    private let network: SimulatedNetwork?
    private let devices: [Machine]
    private let servers: [Machine]

    package init(
        _ simulation: Simulation, network: SimulatedNetwork?, devices: [Machine],
        servers: [Machine] = []
    ) {
        self.simulation = simulation
        self.network = network
        self.devices = devices
        self.servers = servers
    }

    /// Schedules all faults; `special` gets those that only the workload knows.
    package func schedule(special: @escaping (Fault) -> Void) {
        for fault in simulation.schedule.faults {
            simulation.after(fault.at) {
                simulation.trace("fault", "\(fault.index): \(fault.kind.text) (\(fault.target))")
                if !inflict(fault) { special(fault) }
            }
        }
    }

    private func inflict(_ fault: Fault) -> Bool {
        let device = devices[fault.target % devices.count]
        switch fault.kind {
        case .delay, .slow, .reorder, .drop, .duplicate, .cut, .halfOpen, .partition:
            network?.inflict(fault, on: device.process)
        case .killDevice: kill(device, fault, losingPower: false)
        case .powerLossDevice: kill(device, fault, losingPower: true)
        case .killServer: for server in aimed(fault) { kill(server, fault, losingPower: false) }
        case .powerLossServer: for server in aimed(fault) { kill(server, fault, losingPower: true) }
        case .suspend: suspend(device, for: fault.length)
        case .diskFull: device.disk.fill(for: fault.length)
        case .syncFails: device.disk.failSyncs(1 + Int(fault.bits % 3))
        case .serverDiskFull: for server in aimed(fault) { server.disk.fill(for: fault.length) }
        case .serverSyncFails:
            for server in aimed(fault) { server.disk.failSyncs(1 + Int(fault.bits % 3)) }
        case .clockJump: jump(device.process.clock, fault.bits)
        case .clockDrift:
            simulation.met(.clockDrift)
            device.process.clock.drift(Double(Int64(fault.bits % 2_001) - 1_000) / 10_000)
        case .journalLoses, .journalRepeats, .journalDelays, .journalLeaderless, .gatewayCutOff,
            .gatewayStops, .viewLost, .deviceMoves, .gatewayReturns, .journalStrangers,
            .killLoading, .shutdownServer, .damage, .retention, .restore,
            .newEpoch,
            .refusePublish, .tokensFail,
            .tokenSkew, .secondOwner, .gateCloses, .handlerThrows, .handlerHangs, .handlerLate,
            .pageDies, .pageHangs, .pageLate, .pageForges, .newCatalogue, .logOut, .newCompany,
            .storeFails, .storeSlow, .centreGone, .centreRefuses, .permissionRevoked, .travels:
            return false
        }
        return true
    }

    private func aimed(_ fault: Fault) -> [Machine] {
        servers.isEmpty ? [] : [servers[fault.target % servers.count]]
    }

    /// Kills a machine's process before one of its next effects, and starts it again after the
    /// fault's length.
    private func kill(_ machine: Machine, _ fault: Fault, losingPower: Bool) {
        let (process, simulation, season) = (machine.process, simulation, season)
        let life = process.life
        let strike = {
            guard !season.isOver, process.state != .dead, process.life == life else { return }
            simulation.met(fault.kind)
            process.kill(losingPower ? "loses power" : "is killed")
            machine.crash(losingPower)
            if losingPower { process.clock.restart() }
            simulation.after(fault.length) { process.start() }
        }
        process.arm(after: Int(fault.bits % 40), strike)
        // Where nothing happens there is no effect to die before.
        simulation.after(.milliseconds(Int64(fault.bits >> 8 % 2_000)), strike)
    }

    private func suspend(_ machine: Machine, for length: Duration) {
        let process = machine.process
        guard process.state == .running else { return }
        simulation.met(.suspend)
        process.suspend()
        let life = process.life
        simulation.after(length) { if process.life == life { process.resume() } }
    }

    private func jump(_ clock: SimulatedClock, _ bits: UInt64) {
        simulation.met(.clockJump)
        let lengths: [Duration] = [
            .seconds(40), .seconds(3_700), .seconds(90_000), .seconds(40 * 86_400),
            .seconds(3 * 365 * 86_400),
        ]
        let length = lengths[Int(bits % 5)]
        clock.jump(by: bits >> 3 & 1 == 0 ? length : .zero - length)
    }

    /// Everything is well from now on: what was dead is started, what was frozen goes on.
    ///
    /// Calendars stay as they are; a wrong calendar must not keep anything from being complete.
    package func heal() {
        simulation.trace("fault", "everything heals")
        season.isOver = true
        network?.heal()
        for machine in servers + devices {
            machine.disk.heal()
            machine.process.resume()
            machine.process.start()
        }
    }
}

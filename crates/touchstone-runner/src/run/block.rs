//! What is looked at beside each block: the machine's own noise, and where commits await the disk, a flush of it.

use crate::error::Result;
use crate::noise::{NoiseMeter, NoiseReading};
use crate::probe::FlushProbe;
use crate::witness::flushes_completed;
use crate::writer::Writer;
use touchstone::record::file;
use touchstone::sample::{Noise, Probe};

/// A block that goes on.
pub(crate) struct Block<'b> {
    case: &'b str,
    launch: usize,
    block: u32,
    meter: NoiseMeter,
}

impl<'b> Block<'b> {
    /// It begins.
    pub(crate) fn begin(case: &'b str, launch: usize, block: u32) -> Block<'b> {
        Block { case, launch, block, meter: NoiseMeter::start() }
    }

    /// It is over: writes down what was beside it.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn end(self, probe: Option<&mut FlushProbe>, writer: &mut Writer) -> Result<()> {
        let NoiseReading { cpu_pressure, io_pressure, steal } = self.meter.stop();
        let (case, launch, block) = (self.case.to_owned(), self.launch, self.block);
        let noise = Noise { case: case.clone(), launch, block, cpu_pressure, io_pressure, steal };
        writer.line(file::NOISE, &noise)?;
        let Some(probe) = probe else { return Ok(()) };
        let before = flushes_completed();
        let flush_ns = probe.row_ns()?;
        let flushes = flushes_completed().zip(before).and_then(|(now, then)| now.checked_sub(then));
        let flushes = flushes.map(FlushProbe::flushes_each);
        writer.line(file::PROBES, &Probe { case, launch, block, flush_ns, flushes })
    }
}

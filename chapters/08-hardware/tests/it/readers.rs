use hardware::{Market, buy, readers::Reader};

#[test]
fn every_reader_has_an_answer() {
    let market = Market::load().unwrap();
    let mut last = 0.0;
    for reader in Reader::ALL {
        let options = reader.options().unwrap();
        let work = options.job.steps() * options.job.step_operations();
        assert!(work > 10.0 * last, "{reader}: {work:e} after {last:e}");
        last = work;
        let report = buy(&market, &options).unwrap();
        assert!(report.refused.is_empty(), "{reader}: {report}");
        assert!(report.best().is_some(), "{reader}");
        assert_eq!(reader.name().parse::<Reader>().unwrap(), reader);
    }
    assert!("giant".parse::<Reader>().unwrap_err().to_string().contains("workstation"));
}

#[test]
fn the_published_vgg16_took_weeks_on_four_cards_of_its_time() {
    // Simonyan and Zisserman 2015, section 3.3: two to three weeks on four Titan Black (5.1 TFLOP/s in f32 each, by
    // NVIDIA's page). So the job's operations at 30% to 100% of that peak must be of this size.
    let job = Reader::Workstation.job().unwrap();
    let days = job.steps() * job.step_operations() / (4.0 * 5.1e12) / 86_400.0;
    assert!((2.0..21.0).contains(&days), "{days} days at the peak");
}
